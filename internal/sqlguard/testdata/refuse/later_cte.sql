-- expect: INVALID_TABLE_NAME
-- covers: without RECURSIVE a CTE does not see later ones
with a as (select * from b), b as (select 1) select * from a
