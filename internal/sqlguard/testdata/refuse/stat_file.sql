-- expect: FUNCTION_NOT_ALLOWED
-- covers: a file's facts
select pg_stat_file('x')
