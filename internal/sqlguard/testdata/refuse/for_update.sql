-- expect: NOT_SELECT
-- covers: LockingClause
select * from orders for update
