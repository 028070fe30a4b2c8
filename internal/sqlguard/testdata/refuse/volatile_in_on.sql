-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in ON
select 1 from orders o join customers c on touch(c.id)
