-- expect: ACCEPT
-- covers: RowExpr
select row(id, name) from customers
