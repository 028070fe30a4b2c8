-- expect: NOT_SELECT
-- covers: CreateForeignTableStmt
create foreign table x (id int) server s
