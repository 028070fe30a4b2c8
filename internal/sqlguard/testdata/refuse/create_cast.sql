-- expect: NOT_SELECT
-- covers: CreateCastStmt
create cast (int as text) with function f(int)
