-- the agent's part: UPDATE app.t SET id = $2 WHERE id = $1

-- probe
SELECT pg_catalog.count(*), pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x)), pg_catalog.sum(pg_catalog.hashtidextended(sw_c, sw_x # 4611686018427387904)),
  CASE WHEN pg_catalog.count(*) > 10000 THEN ('MARK_cap' || pg_catalog.count(*))::int END
FROM (SELECT ctid AS sw_c, (xmin::text::bigint << 32) # tableoid::bigint AS sw_x FROM app.t WHERE id = $1 LIMIT 10001 OFFSET 0) sw_r

-- run
WITH sw_m AS (UPDATE app.t SET id = $2 FROM (SELECT ctid AS sw_c, tableoid AS sw_t, sw_r FROM app.t sw_r) sw_o WHERE sw_o.sw_c = t.ctid AND sw_o.sw_t = t.tableoid AND (id = $1)
RETURNING t.id AS sw_n1, t.name AS sw_n2, t."Odd col" AS sw_n3, (sw_o.sw_r).id AS sw_p1, (sw_o.sw_r).name AS sw_p2, (sw_o.sw_r)."Odd col" AS sw_p3), sw_s AS MATERIALIZED (SELECT * FROM sw_m ORDER BY sw_p1 LIMIT 10)
SELECT (SELECT pg_catalog.count(*) FROM sw_m), sw_s.sw_n1, CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN NULL ELSE sw_s.sw_n2 END, sw_s.sw_n3, sw_s.sw_p1, CASE WHEN pg_catalog.octet_length(sw_s.sw_p2) > 65536 THEN NULL ELSE sw_s.sw_p2 END, sw_s.sw_p3, pg_catalog.concat_ws(' ', CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN 'n1:' || pg_catalog.octet_length(sw_s.sw_n2) || ':' || pg_catalog.md5(sw_s.sw_n2::text) END, CASE WHEN pg_catalog.octet_length(sw_s.sw_p2) > 65536 THEN 'p1:' || pg_catalog.octet_length(sw_s.sw_p2) || ':' || pg_catalog.md5(sw_s.sw_p2::text) END) FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true ORDER BY sw_s.sw_p1
