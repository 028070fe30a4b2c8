-- expect: FUNCTION_NOT_ALLOWED
-- covers: NOTIFY as a function
select pg_notify('a', 'b')
