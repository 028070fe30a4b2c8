-- expect: NOT_SELECT
-- covers: AlterForeignServerStmt
alter server s version '2'
