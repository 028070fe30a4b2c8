-- expect: NOT_SELECT
-- covers: LockStmt
lock table orders
