SELECT * FROM secret.hidden
TABLE secret.hidden
SELECT * FROM "secret"."hidden"
SELECT * FROM U&"s\0065cret".hidden
SELECT * FROM U&"s!0065cret" UESCAPE '!'.hidden
SELECT * FROM SECRET.HIDDEN
SELECT (SELECT word FROM secret.hidden)
SELECT 1 WHERE EXISTS (SELECT FROM secret.hidden)
WITH hidden AS (SELECT 1) SELECT * FROM secret.hidden
WITH x AS (SELECT * FROM secret.hidden) SELECT * FROM x
SELECT * FROM app.item, secret.hidden
SELECT * FROM app.item JOIN LATERAL (SELECT word FROM secret.hidden) h ON true
SELECT 1 UNION SELECT 2 FROM secret.hidden
SELECT ARRAY(SELECT word FROM secret.hidden)
SELECT h FROM secret.hidden h
SELECT (h).word FROM secret.hidden h
VALUES ((SELECT word FROM secret.hidden))
SELECT * FROM ONLY secret.hidden
SELECT * FROM secret.hidden TABLESAMPLE SYSTEM (100)
SELECT * FROM ROWS FROM (generate_series(1, (SELECT count(*)::int FROM secret.hidden))) g
SELECT query_to_xml('SELECT * FROM secret.hidden', true, true, '')
SELECT table_to_xml('secret.hidden', true, true, '')
SELECT schema_to_xml('secret', true, true, '')
SELECT database_to_xml(true, true, '')
SELECT * FROM ts_stat('SELECT to_tsvector(word) FROM secret.hidden')
SELECT cursor_to_xml('sw_c', 1, true, true, '')
SELECT query FROM pg_stat_activity
SELECT * FROM pg_statistic
SELECT * FROM pg_stats
SELECT rolpassword FROM pg_authid
SELECT * FROM pg_shadow
SELECT prosrc FROM pg_proc
SELECT * FROM mcp_audit.log
SELECT * FROM information_schema.tables
SELECT * FROM pg_class
SELECT * FROM app.item ORDER BY (SELECT word FROM secret.hidden)
SELECT count(*) FILTER (WHERE EXISTS (SELECT FROM secret.hidden)) FROM app.item
SELECT string_agg(a::text, ' ') FROM (VALUES ('app.item'::regclass), ('16384'), ('16385')) v(a)
SELECT ARRAY[pg_typeof(1), '16384']
SELECT 'app.item'::regclass || '{16384}'
SELECT coalesce(tableoid::regclass, '16384') FROM app.item
SELECT oidvectortypes('16384')
