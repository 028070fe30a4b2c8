-- expect: ACCEPT
-- covers: SETOP_INTERSECT
select id from customers intersect select customer_id from orders
