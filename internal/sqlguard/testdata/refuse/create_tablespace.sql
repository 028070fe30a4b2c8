-- expect: NOT_SELECT
-- covers: CreateTableSpaceStmt
create tablespace x location '/x'
