-- expect: NOT_SELECT
-- covers: RenameStmt
alter table orders rename to o
