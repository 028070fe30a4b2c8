-- Which server this is: another system identifier or timeline at look-up time means that the ledger
-- asked is not the one written to (failover), and nothing may be concluded from it.
SELECT (SELECT s.system_identifier FROM pg_catalog.pg_control_system() s)::text,
  pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)
