-- expect: NOT_SELECT
-- covers: InsertStmt.with_clause
with x as (select 1) insert into orders select * from x
