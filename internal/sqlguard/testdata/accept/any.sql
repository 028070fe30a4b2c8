-- expect: ACCEPT
-- covers: SubLink ANY
select id from customers where id = any (select customer_id from orders)
