-- expect: NOT_SELECT
-- covers: CreateStmt ONCOMMIT_DELETE_ROWS
create temp table x (a int) on commit delete rows
