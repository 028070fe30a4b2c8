-- the agent's part: INSERT INTO app.t (id) VALUES ($1)

-- probe


-- run
WITH sw_m AS (INSERT INTO app.t (id) VALUES ($1)
RETURNING t.id AS sw_n1, t.name AS sw_n2, t."Odd col" AS sw_n3), sw_s AS MATERIALIZED (SELECT * FROM sw_m LIMIT 10)
SELECT (SELECT pg_catalog.count(*) FROM sw_m), sw_s.sw_n1, CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN NULL ELSE sw_s.sw_n2 END, sw_s.sw_n3, pg_catalog.concat_ws(' ', CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN 'n1:' || pg_catalog.octet_length(sw_s.sw_n2) || ':' || pg_catalog.md5(sw_s.sw_n2::text) END) FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true
