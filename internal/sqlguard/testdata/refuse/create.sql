-- expect: NOT_SELECT
-- covers: CreateStmt
create table x (a int)
