-- expect: ACCEPT
-- covers: A_Expr IN
select id from customers where id in (1, 2)
