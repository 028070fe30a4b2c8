-- expect: FUNCTION_NOT_ALLOWED
-- covers: the session’s last number of any sequence
select lastval()
