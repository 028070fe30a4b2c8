-- expect: FUNCTION_NOT_ALLOWED
-- covers: sets a sequence, which survives a rollback
select setval('ids', 1)
