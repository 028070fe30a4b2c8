-- Locks this transaction holds on relations (manual, 13.3), also on those that it dropped, of which no
-- catalog knows any more.
SELECT l.relation, l.mode
FROM pg_catalog.pg_lock_status() l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.granted
ORDER BY 1, 2
