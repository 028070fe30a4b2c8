-- expect: NOT_SELECT
-- covers: DiscardStmt DISCARD_SEQUENCES
discard sequences
