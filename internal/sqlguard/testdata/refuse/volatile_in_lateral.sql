-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in LATERAL
select * from orders o, lateral touch(o.id)
