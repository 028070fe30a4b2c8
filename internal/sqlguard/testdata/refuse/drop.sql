-- expect: NOT_SELECT
-- covers: DropStmt
drop table orders
