-- expect: NOT_SELECT
-- covers: RefreshMatViewStmt
refresh materialized view mat
