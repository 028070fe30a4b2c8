-- expect: ACCEPT
-- covers: SubLink with a row before it
select id from customers where (id, status) = (select customer_id, status from orders limit 1)
