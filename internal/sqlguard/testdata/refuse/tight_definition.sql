-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: the definition of a hidden object by number
select pg_get_constraintdef(16390)
