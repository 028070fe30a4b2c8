-- expect: NOT_SELECT
-- covers: DropStmt.concurrent
drop index concurrently idx
