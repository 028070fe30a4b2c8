-- expect: ACCEPT
-- covers: CommonTableExpr.aliascolnames
with x(a, b) as (select id, name from customers) select a from x
