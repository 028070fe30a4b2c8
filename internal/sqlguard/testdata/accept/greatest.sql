-- expect: ACCEPT
-- covers: MinMaxExpr
select greatest(id, 1) from customers
