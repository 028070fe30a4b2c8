-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function as an aggregate
select touch(distinct id) from orders
