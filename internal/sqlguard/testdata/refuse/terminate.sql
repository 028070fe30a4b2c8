-- expect: FUNCTION_NOT_ALLOWED
-- covers: kills a session
select pg_terminate_backend(1)
