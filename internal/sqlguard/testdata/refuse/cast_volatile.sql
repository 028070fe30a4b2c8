-- expect: FUNCTION_NOT_ALLOWED
-- covers: a cast over a volatile function
select 'x'::weird
