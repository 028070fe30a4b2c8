-- expect: ACCEPT
-- covers: SubLink.testexpr of IN
select id from customers where id in (select customer_id from orders)
