-- expect: NOT_SELECT
-- covers: VariableSetStmt RESET
reset all
