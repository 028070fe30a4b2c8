-- expect: NOT_SELECT
-- covers: InsertStmt in a CTE above VALUES
with i as (insert into orders values (1) returning 1) values (1)
