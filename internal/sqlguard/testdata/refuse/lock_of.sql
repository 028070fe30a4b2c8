-- expect: NOT_SELECT
-- covers: LockingClause.locked_rels
select * from orders o, customers c for share of o
