-- expect: NOT_SELECT
-- covers: UpdateStmt in a CTE of LATERAL
select * from customers c, lateral (with u as (update orders set id = 1 returning id) select * from u) x
