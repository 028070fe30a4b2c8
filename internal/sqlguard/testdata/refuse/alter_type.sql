-- expect: NOT_SELECT
-- covers: AlterTypeStmt
alter type t set (storage = plain)
