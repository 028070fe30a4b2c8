-- expect: INVALID_TABLE_NAME
-- covers: a qualified name is never a CTE
with x as (select 1) select * from public.x
