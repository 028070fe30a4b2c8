-- expect: ACCEPT
-- covers: CommonTableExpr
with x as (select * from customers) select * from x
