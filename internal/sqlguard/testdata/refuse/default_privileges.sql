-- expect: NOT_SELECT
-- covers: AlterDefaultPrivilegesStmt
alter default privileges in schema public grant select on tables to joe
