-- expect: FUNCTION_NOT_ALLOWED
-- covers: writes into the log
select pg_create_restore_point('x')
