-- expect: NOT_SELECT
-- covers: ReturnStmt
create function f() returns int return 1
