-- expect: NOT_SELECT
-- covers: ExplainStmt over ExecuteStmt
explain analyze execute a
