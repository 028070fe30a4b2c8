-- expect: FUNCTION_NOT_ALLOWED
-- covers: a lock of the session
select pg_advisory_lock(1)
