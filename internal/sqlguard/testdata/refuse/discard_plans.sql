-- expect: NOT_SELECT
-- covers: DiscardStmt DISCARD_PLANS
discard plans
