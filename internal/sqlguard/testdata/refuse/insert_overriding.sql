-- expect: NOT_SELECT
-- covers: InsertStmt OVERRIDING_SYSTEM_VALUE
insert into orders overriding system value values (1)
