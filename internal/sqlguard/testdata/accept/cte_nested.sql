-- expect: ACCEPT
-- covers: a CTE inside a CTE
with a as (with b as (select id from orders) select * from b) select * from a
