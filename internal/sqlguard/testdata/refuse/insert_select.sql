-- expect: NOT_SELECT
-- covers: InsertStmt with a SELECT
insert into orders select * from orders
