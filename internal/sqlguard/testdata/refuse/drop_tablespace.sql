-- expect: NOT_SELECT
-- covers: DropTableSpaceStmt
drop tablespace x
