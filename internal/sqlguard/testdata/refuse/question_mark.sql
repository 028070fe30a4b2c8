-- expect: INVALID_INPUT
-- covers: a parameter of another driver
select * from orders where id = ?
