-- expect: FUNCTION_NOT_ALLOWED
-- covers: takes a number of a sequence, which survives a rollback
select nextval('ids')
