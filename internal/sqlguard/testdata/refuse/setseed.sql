-- expect: FUNCTION_NOT_ALLOWED
-- covers: changes the session’s random numbers
select setseed(0.5)
