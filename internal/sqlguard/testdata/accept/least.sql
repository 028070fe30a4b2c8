-- expect: ACCEPT
-- covers: MinMaxExpr IS_LEAST
select least(id, 1) from customers
