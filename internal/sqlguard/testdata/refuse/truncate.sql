-- expect: NOT_SELECT
-- covers: TruncateStmt
truncate orders
