-- expect: NOT_SELECT
-- covers: RangeVar.relpersistence of CREATE TEMP
create temp table x as select 1
