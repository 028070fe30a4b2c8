-- $1 schemas; $2, $3 schemas and names of tables, in parallel; $4 the role of migrations, or null. The
-- relations there are, what the current role lacks of the rights to use them, and whether the role of
-- migrations owns them (ALTER TABLE, "You must own the table") and has the rights to their schema that an ALTER
-- and an index need. Null where there is no such role.
-- Partitions are used through their parent, unless named.
WITH want AS (
  SELECT w.schema, w.name
  FROM ROWS FROM (pg_catalog.unnest($2::pg_catalog.text[]), pg_catalog.unnest($3::pg_catalog.text[])) w(schema, name)
)
SELECT n.nspname, c.relname, c.relkind,
  pg_catalog.concat_ws(',',
    CASE WHEN NOT pg_catalog.has_schema_privilege(n.oid, 'USAGE') THEN 'USAGE' END,
    CASE WHEN NOT pg_catalog.has_any_column_privilege(c.oid, 'SELECT') THEN 'SELECT' END,
    CASE WHEN NOT pg_catalog.has_any_column_privilege(c.oid, 'INSERT') THEN 'INSERT' END,
    CASE WHEN NOT pg_catalog.has_any_column_privilege(c.oid, 'UPDATE') THEN 'UPDATE' END,
    CASE WHEN NOT pg_catalog.has_table_privilege(c.oid, 'DELETE') THEN 'DELETE' END) AS lacks,
  (SELECT pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') FROM pg_catalog.pg_roles r WHERE r.rolname = $4) AS owned,
  (SELECT pg_catalog.has_schema_privilege(r.oid, n.oid, 'USAGE') AND pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE')
   FROM pg_catalog.pg_roles r WHERE r.rolname = $4) AS schema_open
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (n.nspname = ANY ($1::pg_catalog.text[]) AND NOT c.relispartition
       OR (n.nspname, c.relname) IN (SELECT want.schema, want.name FROM want))
ORDER BY n.nspname, c.relname
