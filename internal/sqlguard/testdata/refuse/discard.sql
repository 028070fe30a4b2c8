-- expect: NOT_SELECT
-- covers: DiscardStmt
discard all
