-- expect: NOT_SELECT
-- covers: VariableSetStmt VAR_SET_MULTI
set transaction read write
