-- $1, $2 as in cat_relations.sql. Relations to suggest from, for the names that do not exist; the
-- closest first, by means that need no extension, and one of each schema. The caller filters by its
-- allowlist.
WITH missing AS (
  SELECT w.schema, pg_catalog.lower(w.name) AS name
  FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) w(schema, name)
  WHERE NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relname = w.name AND (CASE w.schema WHEN '' THEN n.nspname = ANY (pg_catalog.current_schemas(true))
                                                ELSE n.nspname = w.schema END))
  LIMIT 8
), have AS MATERIALIZED (
  SELECT n.nspname, c.relname, pg_catalog.lower(c.relname) AS name
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE EXISTS (SELECT FROM missing)
    AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname NOT LIKE 'pg\_toast%' AND n.nspname NOT LIKE 'pg\_temp%'
)
SELECT DISTINCT near.nspname, near.relname
FROM missing m CROSS JOIN LATERAL (
  SELECT h.nspname, h.relname
  FROM have h
  ORDER BY h.name = m.name DESC,
           pg_catalog.strpos(h.name, m.name) > 0 OR pg_catalog.strpos(m.name, h.name) > 0 DESC,
           -- How many pairs of neighbouring letters of the one are in the other: a typo spoils two of them.
           (SELECT pg_catalog.count(*) FROM pg_catalog.generate_series(1, pg_catalog.length(m.name) - 1) i
             WHERE pg_catalog.strpos(h.name, pg_catalog.substr(m.name, i, 2)) > 0) DESC,
           pg_catalog.abs(pg_catalog.length(h.name) - pg_catalog.length(m.name)), h.name
  LIMIT 200) near
UNION
SELECT one.nspname, one.relname
FROM (SELECT DISTINCT ON (h.nspname) h.nspname, h.relname FROM have h ORDER BY h.nspname, h.relname LIMIT 200) one
