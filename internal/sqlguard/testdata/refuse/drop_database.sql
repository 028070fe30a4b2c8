-- expect: NOT_SELECT
-- covers: DropdbStmt
drop database d (force)
