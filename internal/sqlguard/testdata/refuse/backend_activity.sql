-- expect: FUNCTION_NOT_ALLOWED
-- covers: other sessions' statements by number
select pg_stat_get_backend_activity(1)
