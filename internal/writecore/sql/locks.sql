-- Locks this transaction holds on relations outside the system's schemas (manual, 13.3).
SELECT l.relation, n.nspname, c.relname, c.relkind, l.mode
FROM pg_catalog.pg_lock_status() l
JOIN pg_catalog.pg_class c ON c.oid = l.relation
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.granted
  AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
ORDER BY 2, 3, 5
