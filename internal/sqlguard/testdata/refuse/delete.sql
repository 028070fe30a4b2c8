-- expect: NOT_SELECT
-- covers: DeleteStmt
delete from orders
