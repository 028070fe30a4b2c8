-- expect: NOT_SELECT
-- covers: SelectStmt.into_clause
select * into x from orders
