-- expect: NOT_SELECT
-- covers: GrantRoleStmt
grant writers to joe with admin option
