-- expect: ACCEPT
-- covers: SETOP_EXCEPT
select id from customers except select customer_id from orders
