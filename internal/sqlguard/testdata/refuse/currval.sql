-- expect: FUNCTION_NOT_ALLOWED
-- covers: the session’s last number
select currval('ids')
