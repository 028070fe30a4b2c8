-- expect: NOT_SELECT
-- covers: CurrentOfExpr
delete from orders where current of c
