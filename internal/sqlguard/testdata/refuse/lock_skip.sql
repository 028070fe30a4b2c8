-- expect: NOT_SELECT
-- covers: LockingClause LockWaitSkip
select * from orders for no key update skip locked
