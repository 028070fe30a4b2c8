-- expect: NOT_SELECT
-- covers: DiscardStmt DISCARD_TEMP
discard temp
