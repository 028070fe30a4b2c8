-- The second witness: every relation that name resolution of the agent's text locked must be one the
-- guard saw. $1 = OIDs it saw (with indexes, partitions, view bases), $2 = a random mark. Anything else
-- makes the cast fail, and with it everything behind it in the flush.
SELECT CASE WHEN pg_catalog.count(*) > 0
  THEN ($2::text || pg_catalog.string_agg(l.relation::pg_catalog.regclass::text, ', '))::int END
FROM pg_catalog.pg_lock_status() l
WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation'
  AND l.relation <> ALL ($1::oid[])
  -- An index is locked behind its table, which is in the list itself: one that was made since the
  -- guard looked reaches nothing new.
  AND (pg_catalog.pg_identify_object(1259, l.relation, 0)).type IS DISTINCT FROM 'index'
