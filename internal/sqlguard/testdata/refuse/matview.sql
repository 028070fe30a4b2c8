-- expect: NOT_SELECT
-- covers: CreateTableAsStmt OBJECT_MATVIEW
create materialized view m as select 1
