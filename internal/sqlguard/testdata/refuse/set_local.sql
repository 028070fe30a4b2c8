-- expect: NOT_SELECT
-- covers: VariableSetStmt.is_local
set local statement_timeout = 0
