-- expect: NOT_SELECT
-- covers: AlterOwnerStmt
alter schema public owner to joe
