-- expect: NOT_SELECT
-- covers: LockingClause in a CTE
with x as (select * from orders for update) select * from x
