-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: a function that tells whether a number is a table
select pg_table_is_visible(16390)
