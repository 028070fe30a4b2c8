-- expect: NOT_SELECT
-- covers: CreateSchemaStmt, RoleSpec
create schema x authorization joe
