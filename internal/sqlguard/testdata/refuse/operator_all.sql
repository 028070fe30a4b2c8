-- expect: FUNCTION_NOT_ALLOWED
-- covers: the operator of ALL over a volatile function
select 1 == all (array[1])
