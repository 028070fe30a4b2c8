-- expect: NOT_SELECT
-- covers: CreateRangeStmt
create type t as range (subtype = int)
