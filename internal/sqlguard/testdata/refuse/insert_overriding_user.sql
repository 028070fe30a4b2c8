-- expect: NOT_SELECT
-- covers: InsertStmt OVERRIDING_USER_VALUE
insert into orders overriding user value values (1)
