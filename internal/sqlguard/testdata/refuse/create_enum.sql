-- expect: NOT_SELECT
-- covers: CreateEnumStmt
create type t as enum ('a')
