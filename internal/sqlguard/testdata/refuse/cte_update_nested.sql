-- expect: NOT_SELECT
-- covers: UpdateStmt in a CTE of a CTE
with a as (with u as (update orders set id = 1 returning *) select * from u) select * from a
