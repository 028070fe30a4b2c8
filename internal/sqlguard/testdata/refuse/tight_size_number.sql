-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: the size of a table by number
select pg_relation_size(16390)
