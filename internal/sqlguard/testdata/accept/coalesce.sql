-- expect: ACCEPT
-- covers: CoalesceExpr
select coalesce(email, name) from customers
