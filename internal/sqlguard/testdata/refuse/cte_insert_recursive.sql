-- expect: NOT_SELECT
-- covers: InsertStmt in a CTE of WITH RECURSIVE
with recursive i as (insert into orders select 1 returning id) select * from i
