-- expect: NOT_SELECT
-- covers: UpdateStmt.from_clause
update orders o set id = 1 from customers c where c.id = o.id
