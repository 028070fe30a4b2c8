-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: a number that becomes a name
select 16390::regclass
