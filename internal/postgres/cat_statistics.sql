-- $1, $2: schemas ('' = by search_path) and names, in parallel. One row per statistics object that exists:
-- its position, itself and its table.
SELECT w.ord, pg_catalog.json_build_object(
  'Object', pg_catalog.json_build_object('OID', x.oid::pg_catalog.int8, 'Schema', x.nspname, 'Name', x.stxname),
  'Table', pg_catalog.json_build_object('OID', c.oid::pg_catalog.int8, 'Schema', cn.nspname, 'Name', c.relname, 'Kind', pg_catalog.ascii(c.relkind::text)))
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])) WITH ORDINALITY w(schema, name, ord)
CROSS JOIN LATERAL (
  SELECT s.oid, s.stxname, s.stxrelid, n.nspname
  FROM pg_catalog.pg_statistic_ext s
  JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace
  WHERE s.stxname = w.name
    AND CASE w.schema WHEN '' THEN n.nspname = ANY (pg_catalog.current_schemas(true)) ELSE n.nspname = w.schema END
  ORDER BY pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname) LIMIT 1) x
JOIN pg_catalog.pg_class c ON c.oid = x.stxrelid
JOIN pg_catalog.pg_namespace cn ON cn.oid = c.relnamespace
