-- expect: ACCEPT
-- covers: A_Star
select * from customers
