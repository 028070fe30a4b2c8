-- expect: NOT_SELECT
-- covers: ViewStmt
create or replace view v as select 1
