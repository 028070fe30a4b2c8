-- expect: FUNCTION_NOT_ALLOWED
-- covers: a qualified operator over a volatile function
select 1 operator(public.==) 2
