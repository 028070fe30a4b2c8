-- expect: NOT_SELECT
-- covers: ReindexStmt
reindex table orders
