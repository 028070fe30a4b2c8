-- expect: NOT_SELECT
-- covers: IndexStmt, IndexElem
create index on orders (status)
