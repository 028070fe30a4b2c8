-- expect: FUNCTION_NOT_ALLOWED
-- covers: a large object
select lo_get(1)
