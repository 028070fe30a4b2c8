-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: the comment of an object by number
select obj_description(16390, 'pg_class')
