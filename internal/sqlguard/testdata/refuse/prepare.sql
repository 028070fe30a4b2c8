-- expect: NOT_SELECT
-- covers: PrepareStmt
prepare a as select 1
