-- expect: FUNCTION_NOT_ALLOWED
-- covers: resets the statistics
select pg_stat_reset()
