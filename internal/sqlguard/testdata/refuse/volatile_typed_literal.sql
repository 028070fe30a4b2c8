-- expect: FUNCTION_NOT_ALLOWED
-- covers: a typed literal over a volatile function
select weird 'x'
