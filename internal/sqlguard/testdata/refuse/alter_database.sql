-- expect: NOT_SELECT
-- covers: AlterDatabaseStmt
alter database d connection limit 1
