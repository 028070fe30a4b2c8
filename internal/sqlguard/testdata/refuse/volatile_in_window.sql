-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in a frame
select sum(id) over (rows app.boom() preceding) from orders
