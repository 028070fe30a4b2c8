-- expect: NOT_SELECT
-- covers: CallStmt with arguments
call p(1, array(select id from orders))
