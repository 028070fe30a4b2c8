-- expect: ACCEPT
-- covers: SubLink ALL_SUBLINK
select id from customers where id > all (select customer_id from orders)
