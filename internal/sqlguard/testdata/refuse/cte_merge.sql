-- expect: NOT_SELECT
-- covers: MergeStmt.with_clause
with x as (select 1 as id) merge into orders o using x on o.id = x.id when matched then do nothing
