-- expect: NOT_SELECT
-- covers: VariableSetStmt VAR_RESET
reset work_mem
