-- expect: NOT_SELECT
-- covers: AlterSystemStmt
alter system set fsync = off
