-- expect: INVALID_INPUT
-- covers: a named parameter
select * from orders where id = :id
