-- expect: ACCEPT
-- covers: a CTE in an inner select of the name of an outer one
with x as (select 1 as a) select * from (with x as (select 2 as a) select a from x) y, x
