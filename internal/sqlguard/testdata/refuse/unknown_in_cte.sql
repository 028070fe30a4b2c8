-- expect: INVALID_TABLE_NAME
-- covers: without RECURSIVE a CTE does not see itself
with x as (select * from x) select 1 from x
