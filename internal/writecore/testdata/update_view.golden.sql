-- the agent's part: UPDATE app.seen SET name = $1 WHERE id = 1

-- probe
SELECT pg_catalog.count(*), pg_catalog.sum(pg_catalog.hashtextextended(sw_x, 0)), pg_catalog.sum(pg_catalog.hashtextextended(sw_x, 4611686018427387904)),
  CASE WHEN pg_catalog.count(*) > 10000 THEN ('MARK_cap' || pg_catalog.count(*))::int END
FROM (SELECT pg_catalog.encode(pg_catalog.record_send(ROW(seen.id, seen.name)), 'hex') AS sw_x FROM app.seen WHERE id = 1 LIMIT 10001 OFFSET 0) sw_r

-- run
WITH sw_m AS (UPDATE app.seen SET name = $1 WHERE id = 1
RETURNING seen.id AS sw_n1, seen.name AS sw_n2), sw_s AS MATERIALIZED (SELECT * FROM sw_m LIMIT 10)
SELECT (SELECT pg_catalog.count(*) FROM sw_m), sw_s.sw_n1, CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN NULL ELSE sw_s.sw_n2 END, pg_catalog.concat_ws(' ', CASE WHEN pg_catalog.octet_length(sw_s.sw_n2) > 65536 THEN 'n1:' || pg_catalog.octet_length(sw_s.sw_n2) || ':' || pg_catalog.md5(sw_s.sw_n2::text) END) FROM (SELECT 1) sw_one LEFT JOIN sw_s ON true
