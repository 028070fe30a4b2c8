-- expect: NOT_SELECT
-- covers: LockingClause behind a set operation
(select id from orders for update) union all select 1
