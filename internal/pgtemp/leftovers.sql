-- What is still open in this database, one line each. Our own session is not counted.
SELECT format('backend %s of %s is %s, last statement: %s', pid, usename, state, left(query, 200))
FROM pg_catalog.pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
  AND backend_type = 'client backend' AND state <> 'idle'
UNION ALL
SELECT format('backend %s holds advisory lock (%s, %s, %s)', l.pid, l.classid, l.objid, l.objsubid)
FROM pg_catalog.pg_locks l
WHERE l.locktype = 'advisory' AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
UNION ALL
SELECT format('prepared transaction %s of %s', gid, owner)
FROM pg_catalog.pg_prepared_xacts WHERE database = current_database()
UNION ALL
SELECT format('temporary table %s.%s', n.nspname, c.relname)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relpersistence = 't' AND c.relkind IN ('r', 'p') AND n.nspname LIKE 'pg\_temp\_%'
