-- expect: FUNCTION_NOT_ALLOWED
-- covers: weird(x), which is a cast
select weird('x')
