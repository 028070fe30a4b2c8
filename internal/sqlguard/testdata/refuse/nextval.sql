-- expect: FUNCTION_NOT_ALLOWED
-- covers: survives a rollback
select nextval('ids')
