-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in FILTER
select count(*) filter (where touch(id)) from orders
