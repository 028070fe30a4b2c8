-- expect: NOT_SELECT
-- covers: AlterTableStmt, AlterTableCmd, ColumnDef
alter table orders add column a int
