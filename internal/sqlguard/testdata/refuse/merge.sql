-- expect: NOT_SELECT
-- covers: MergeStmt
merge into orders o using customers c on o.id = c.id when matched then delete
