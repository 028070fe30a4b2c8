-- expect: INVALID_TABLE_NAME
-- covers: a sub-select’s CTE used outside
select (with x as (select 1 as a) select a from x) from x
