-- expect: NOT_SELECT
-- covers: VariableSetStmt
set role postgres
