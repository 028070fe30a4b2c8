-- expect: FUNCTION_NOT_ALLOWED
-- covers: the operator of ANY
select 1 == any (array[1])
