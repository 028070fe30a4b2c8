-- expect: NOT_SELECT
-- covers: AlterRoleSetStmt
alter role x set search_path = secret
