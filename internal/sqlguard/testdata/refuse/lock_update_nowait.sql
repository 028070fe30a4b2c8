-- expect: NOT_SELECT
-- covers: LockingClause LockWaitError
select * from orders for update nowait
