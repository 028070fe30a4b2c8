-- expect: NOT_SELECT
-- covers: MergeWhenClause of NOT MATCHED
merge into orders o using customers c on o.id = c.id when not matched then insert (id) values (1)
