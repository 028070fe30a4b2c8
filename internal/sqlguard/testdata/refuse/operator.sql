-- expect: FUNCTION_NOT_ALLOWED
-- covers: an operator over a volatile function
select 1 == 2
