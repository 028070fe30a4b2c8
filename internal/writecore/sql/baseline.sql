-- What this connection's counters hold before the statement runs: left over from earlier transactions
-- (PostgreSQL 14 has no pg_stat_force_next_flush()), or counted in a savepoint that was undone.
SELECT c.oid, pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid),
  pg_catalog.pg_stat_get_xact_tuples_updated(c.oid), pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid)
FROM pg_catalog.pg_class c
WHERE c.relkind IN ('r', 'm', 't', 'p')
  AND pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid) + pg_catalog.pg_stat_get_xact_tuples_updated(c.oid)
    + pg_catalog.pg_stat_get_xact_tuples_deleted(c.oid) > 0
