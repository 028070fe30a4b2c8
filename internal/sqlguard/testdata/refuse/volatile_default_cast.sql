-- expect: FUNCTION_NOT_ALLOWED
-- covers: a cast with modifiers over a volatile function
select 'x'::weird(3)
