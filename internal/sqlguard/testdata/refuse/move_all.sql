-- expect: NOT_SELECT
-- covers: AlterTableMoveAllStmt
alter table all in tablespace a set tablespace b
