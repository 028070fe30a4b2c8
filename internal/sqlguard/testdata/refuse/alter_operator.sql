-- expect: NOT_SELECT
-- covers: AlterOperatorStmt
alter operator + (int, int) set (restrict = none)
