-- expect: NOT_SELECT
-- covers: LockingClause in a sub-select
select * from (select * from orders for key share) x
