-- expect: NOT_SELECT
-- covers: DeleteStmt in a CTE
with d as (delete from orders returning *) select * from d
