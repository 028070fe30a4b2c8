-- expect: NOT_SELECT
-- covers: CreateTableAsStmt over ExecuteStmt
create table x as execute a
