-- expect: INVALID_TABLE_NAME
-- covers: a CTE ends with its select
select * from (with x as (select 1) select * from x) y, x
