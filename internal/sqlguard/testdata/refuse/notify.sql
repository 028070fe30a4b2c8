-- expect: NOT_SELECT
-- covers: NotifyStmt
notify a
