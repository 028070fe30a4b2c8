-- expect: NOT_SELECT
-- covers: CreateTransformStmt
create transform for int language plperl (from sql with function f(internal))
