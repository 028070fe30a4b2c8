-- expect: NOT_SELECT
-- covers: ExplainStmt with ANALYZE over a DELETE
explain analyze delete from orders
