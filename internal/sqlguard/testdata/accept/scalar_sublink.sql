-- expect: ACCEPT
-- covers: SubLink EXPR_SUBLINK
select (select max(id) from orders) from customers
