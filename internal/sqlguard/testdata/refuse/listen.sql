-- expect: NOT_SELECT
-- covers: ListenStmt
listen a
