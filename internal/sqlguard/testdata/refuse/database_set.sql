-- expect: NOT_SELECT
-- covers: AlterDatabaseSetStmt
alter database d set search_path = secret
