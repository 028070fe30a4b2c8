-- expect: ACCEPT
-- covers: SETOP_UNION without ALL
select id from customers union select customer_id from orders
