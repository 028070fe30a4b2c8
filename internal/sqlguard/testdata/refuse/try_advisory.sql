-- expect: FUNCTION_NOT_ALLOWED
-- covers: a lock of the session that does not wait
select pg_try_advisory_lock(1)
