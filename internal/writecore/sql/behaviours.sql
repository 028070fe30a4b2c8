-- behaviour.sql of the relations $1, for a look without running anything.
SELECT r.oid, r.nspname, r.relname, ({behaviour})
FROM (SELECT c.oid, c.relkind, n.nspname, c.relname, c.relrowsecurity, c.relforcerowsecurity
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.oid = ANY ($1::oid[])) r
ORDER BY r.oid
