-- expect: ACCEPT
-- covers: f(x) that is a cast to a type of the system
select text(id), int8(id) from customers
