-- expect: NOT_SELECT
-- covers: AlterObjectDependsStmt
alter function f() depends on extension dblink
