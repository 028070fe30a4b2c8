-- The relations that this backend holds locks on and that are not in $1 (OIDs): then the cast fails,
-- and with it everything behind it in the segment. $2: a mark for that error. $3: Postgres' own pass.
-- pg_locks itself would be a relation with a lock, so its function is called. 2610, 2678 and 2679 are
-- pg_index and its indexes, which this statement looks at. A lock on something that has no row in the
-- catalogs counts as not seen.
SELECT CASE WHEN pg_catalog.count(*) > 0
            THEN ($2::pg_catalog.text || pg_catalog.string_agg(DISTINCT l.relation::pg_catalog.regclass::pg_catalog.text, ', '))::pg_catalog.int4 END
FROM pg_catalog.pg_lock_status() l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
  AND l.relation <> ALL ($1::pg_catalog.oid[])
  AND l.relation NOT IN (2610, 2678, 2679)
  AND NOT ($3::pg_catalog.bool AND l.relation < 16384)
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_index i
                  WHERE i.indexrelid = l.relation AND i.indrelid = ANY ($1::pg_catalog.oid[]))
