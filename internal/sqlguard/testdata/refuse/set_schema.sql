-- expect: NOT_SELECT
-- covers: AlterObjectSchemaStmt
alter table orders set schema app
