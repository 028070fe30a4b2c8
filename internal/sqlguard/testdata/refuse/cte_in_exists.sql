-- expect: NOT_SELECT
-- covers: DeleteStmt in a CTE of EXISTS
select exists (with d as (delete from orders returning 1) select * from d)
