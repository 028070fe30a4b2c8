-- expect: NOT_SELECT
-- covers: ExplainStmt over InsertStmt
explain (analyze, buffers) insert into orders values (1)
