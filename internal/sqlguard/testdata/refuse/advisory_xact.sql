-- expect: FUNCTION_NOT_ALLOWED
-- covers: a lock of the transaction
select pg_advisory_xact_lock(1)
