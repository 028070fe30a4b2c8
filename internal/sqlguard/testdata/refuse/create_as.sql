-- expect: NOT_SELECT
-- covers: CreateTableAsStmt
create table x as select 1
