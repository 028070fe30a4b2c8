-- expect: NOT_SELECT
-- covers: DeleteStmt.using_clause
delete from orders o using customers c where c.id = o.id
