-- expect: NOT_SELECT
-- covers: DropOwnedStmt
drop owned by joe
