-- expect: NOT_SELECT
-- covers: DefineStmt
create aggregate a (int) (sfunc = f, stype = int)
