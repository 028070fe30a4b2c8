-- expect: NOT_SELECT
-- covers: CopyStmt
copy orders to stdout
