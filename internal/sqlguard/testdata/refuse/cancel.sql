-- expect: FUNCTION_NOT_ALLOWED
-- covers: cancels a session
select pg_cancel_backend(1)
