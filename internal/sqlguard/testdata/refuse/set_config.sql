-- expect: FUNCTION_NOT_ALLOWED
-- covers: changes the session
select set_config('role', 'x', false)
