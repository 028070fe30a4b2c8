-- The demo's tables as far as they exist: name, whether they carry the demo's mark (the comment
-- that 03_demo.sql sets), their owner, and their columns in order.
SELECT c.relname,
       coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), '') LIKE 'sw-postgres-mcp demo:%',
       pg_catalog.pg_get_userbyid(c.relowner),
       coalesce((SELECT array_agg(a.attname::text) FROM pg_catalog.pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped), '{}')
FROM pg_catalog.pg_class c
WHERE c.relnamespace = pg_catalog.to_regnamespace('public')
  AND c.relname IN ('customers', 'products', 'orders', 'order_items')
ORDER BY 1
