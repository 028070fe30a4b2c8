-- expect: NOT_SELECT
-- covers: DropRoleStmt
drop role x
