-- Relations, columns and indexes outside the system's schemas, with their storage: read before and
-- after a migration, the difference is what it created, dropped, rewrote and read from end to end.
SELECT c.oid, c.relkind, n.nspname, c.relname, COALESCE(pg_catalog.pg_relation_filenode(c.oid), 0),
  CASE WHEN c.oid = ANY ($1::oid[]) AND c.relkind IN ('r', 'p', 'm') THEN pg_catalog.pg_table_size(c.oid) ELSE 0 END,
  COALESCE((SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid), 0),
  CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_stat_get_xact_numscans(c.oid) ELSE 0 END,
  -- of what the text names: row security, and which triggers are on
  CASE WHEN c.oid = ANY ($1::oid[]) THEN c.relrowsecurity END, CASE WHEN c.oid = ANY ($1::oid[]) THEN c.relforcerowsecurity END,
  CASE WHEN c.oid = ANY ($1::oid[]) THEN (SELECT pg_catalog.count(*) FROM pg_catalog.pg_policy p WHERE p.polrelid = c.oid) END,
  CASE WHEN c.oid = ANY ($1::oid[]) THEN (SELECT pg_catalog.json_object_agg(g.tgname, g.tgenabled) FROM pg_catalog.pg_trigger g WHERE g.tgrelid = c.oid AND NOT g.tgisinternal) END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' AND c.relkind <> 't'
ORDER BY c.oid
