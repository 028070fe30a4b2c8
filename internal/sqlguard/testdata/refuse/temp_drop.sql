-- expect: NOT_SELECT
-- covers: CreateStmt ONCOMMIT_DROP
create temp table x (a int) on commit drop
