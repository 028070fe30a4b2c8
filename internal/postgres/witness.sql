-- The second witness: the relations this backend holds locks on are those that name resolution
-- found. $1: what the guard said may be locked. $2: a random mark for the error raised on purpose.
-- $3: system relations are let pass (functions of pg_catalog read them). pg_locks itself would be a
-- relation with a lock, so its function is called.
SELECT CASE WHEN pg_catalog.count(*) > 0
            THEN ($2::pg_catalog.text || pg_catalog.string_agg(l.relation::pg_catalog.text, ','))::pg_catalog.int4 END
FROM pg_catalog.pg_lock_status() l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
  AND l.relation <> ALL ($1::pg_catalog.oid[])
  AND NOT ($3::pg_catalog.bool AND l.relation < 16384)
