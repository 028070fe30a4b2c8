-- expect: NOT_SELECT
-- covers: CreateStmt ONCOMMIT_PRESERVE_ROWS
create temp table x (a int) on commit preserve rows
