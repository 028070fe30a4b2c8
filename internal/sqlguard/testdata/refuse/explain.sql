-- expect: NOT_SELECT
-- covers: ExplainStmt
explain select 1
