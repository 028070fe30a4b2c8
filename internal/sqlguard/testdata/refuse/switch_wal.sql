-- expect: FUNCTION_NOT_ALLOWED
-- covers: switches the log
select pg_switch_wal()
