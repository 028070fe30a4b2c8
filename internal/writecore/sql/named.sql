-- The second witness of a migration: a relation that the guard took the text to write is one that the
-- statement locked, or dropped. One that is there and not locked means that Postgres took the name for
-- another. $1 = OIDs, $2 = a random mark.
SELECT CASE WHEN pg_catalog.count(*) > 0
  THEN ($2::text || pg_catalog.string_agg(w.oid::pg_catalog.regclass::text, ', '))::int END
FROM pg_catalog.unnest($1::oid[]) AS w(oid)
JOIN pg_catalog.pg_class c ON c.oid = w.oid
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_lock_status() l
  WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' AND l.relation = w.oid)
