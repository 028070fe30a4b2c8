-- expect: ACCEPT
-- covers: CommonTableExpr that nobody reads
with x as (select id from customers) select 1
