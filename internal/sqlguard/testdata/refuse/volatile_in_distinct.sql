-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in DISTINCT ON
select distinct on (touch(id)) id from orders
