-- expect: NOT_SELECT
-- covers: AlterRoleStmt
alter role x superuser
