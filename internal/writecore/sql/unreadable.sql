-- Tables and views that this transaction made or changed, outside the system's schemas, and that the role
-- $1 may not read.
SELECT c.oid, n.nspname, c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
  AND EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = $1::text
    AND NOT (pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT')))
  AND pg_catalog.age(c.xmin) = 0
