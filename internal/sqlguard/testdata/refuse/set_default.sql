-- expect: NOT_SELECT
-- covers: VariableSetStmt VAR_SET_DEFAULT
set work_mem to default
