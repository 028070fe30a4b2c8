-- expect: NOT_SELECT
-- covers: ExplainStmt over CreateTableAsStmt
explain analyze create table x as select 1
