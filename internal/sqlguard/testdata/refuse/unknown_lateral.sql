-- expect: INVALID_TABLE_NAME
-- covers: a CTE of an outer arm
select * from (with x as (select 1) table x) y union all table x
