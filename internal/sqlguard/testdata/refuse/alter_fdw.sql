-- expect: NOT_SELECT
-- covers: AlterFdwStmt
alter foreign data wrapper w no handler
