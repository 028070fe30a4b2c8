-- expect: NOT_SELECT
-- covers: VariableShowStmt
show work_mem
