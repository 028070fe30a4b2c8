-- expect: NOT_SELECT
-- covers: CreateFdwStmt
create foreign data wrapper w handler h
