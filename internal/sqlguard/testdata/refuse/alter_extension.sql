-- expect: NOT_SELECT
-- covers: AlterExtensionStmt
alter extension dblink update
