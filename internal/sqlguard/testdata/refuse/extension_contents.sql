-- expect: NOT_SELECT
-- covers: AlterExtensionContentsStmt
alter extension dblink add table orders
