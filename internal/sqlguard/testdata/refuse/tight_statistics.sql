-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: live rows of a table by number
select pg_stat_get_live_tuples(16390)
