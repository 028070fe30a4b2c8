-- Relations, columns and indexes outside the system's schemas, with their storage: read before and
-- after a migration, the difference is what it created, dropped, rewrote and read from end to end.
SELECT c.oid, c.relkind, n.nspname, c.relname, COALESCE(pg_catalog.pg_relation_filenode(c.oid), 0),
  CASE WHEN c.oid = ANY ($1::oid[]) AND c.relkind IN ('r', 'p', 'm') THEN pg_catalog.pg_table_size(c.oid) ELSE 0 END,
  COALESCE((SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid), 0),
  CASE WHEN c.relkind IN ('r', 'm') THEN pg_catalog.pg_stat_get_xact_numscans(c.oid) ELSE 0 END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%' AND c.relkind <> 't'
ORDER BY c.oid
