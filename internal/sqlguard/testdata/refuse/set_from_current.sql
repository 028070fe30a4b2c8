-- expect: NOT_SELECT
-- covers: VariableSetStmt VAR_SET_CURRENT
create function f() returns int language sql set search_path from current return 1
