-- expect: NOT_SELECT
-- covers: DeleteStmt.returning_list
delete from orders returning *
