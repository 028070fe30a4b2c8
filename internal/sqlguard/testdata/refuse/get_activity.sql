-- expect: FUNCTION_NOT_ALLOWED
-- covers: other sessions' statements by function
select * from pg_stat_get_activity(null)
