-- expect: NOT_SELECT
-- covers: InsertStmt
insert into orders values (1)
