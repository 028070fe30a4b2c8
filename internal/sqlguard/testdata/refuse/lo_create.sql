-- expect: FUNCTION_NOT_ALLOWED
-- covers: a new large object
select lo_create(0)
