-- $1, $2 as in cat_relations.sql. Relations to suggest from, for the names that do not exist; the
-- closest first, by means that need no extension. The caller filters by its allowlist.
WITH missing AS (
  SELECT w.schema, w.name
  FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) w(schema, name)
  WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = w.name AND (CASE w.schema WHEN '' THEN n.nspname = ANY (pg_catalog.current_schemas(true))
                                                ELSE n.nspname = w.schema END))
  LIMIT 8
)
SELECT DISTINCT near.nspname, near.relname
FROM missing m CROSS JOIN LATERAL (
  SELECT n.nspname, c.relname
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%'
  ORDER BY pg_catalog.lower(c.relname) = pg_catalog.lower(m.name) DESC,
           pg_catalog.strpos(pg_catalog.lower(c.relname), pg_catalog.lower(m.name)) > 0
             OR pg_catalog.strpos(pg_catalog.lower(m.name), pg_catalog.lower(c.relname)) > 0 DESC,
           pg_catalog.left(pg_catalog.lower(c.relname), 2) = pg_catalog.left(pg_catalog.lower(m.name), 2) DESC,
           pg_catalog.abs(pg_catalog.length(c.relname) - pg_catalog.length(m.name)), c.relname
  LIMIT 200) near
