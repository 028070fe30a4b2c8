-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: an array that becomes names
select '{16390}'::regclass[]
