-- expect: NOT_SELECT
-- covers: CreateRoleStmt
create role x superuser password 'y'
