-- expect: NOT_SELECT
-- covers: AlterDatabaseRefreshCollStmt
alter database d refresh collation version
