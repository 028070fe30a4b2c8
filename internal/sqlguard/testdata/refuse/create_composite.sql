-- expect: NOT_SELECT
-- covers: CompositeTypeStmt
create type t as (a int)
