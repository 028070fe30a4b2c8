-- expect: NOT_SELECT
-- covers: NotifyStmt.payload
notify a, 'b'
