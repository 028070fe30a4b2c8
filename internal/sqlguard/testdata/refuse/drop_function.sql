-- expect: NOT_SELECT
-- covers: DropStmt OBJECT_FUNCTION
drop function f(int)
