-- expect: NOT_SELECT
-- covers: CheckPointStmt
checkpoint
