-- expect: NOT_SELECT
-- covers: AlterFunctionStmt
alter function f() security definer
