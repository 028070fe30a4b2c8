-- expect: NOT_SELECT
-- covers: ExecuteStmt
execute a
