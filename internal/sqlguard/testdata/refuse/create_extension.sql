-- expect: NOT_SELECT
-- covers: CreateExtensionStmt
create extension dblink
