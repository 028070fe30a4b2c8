-- expect: NOT_SELECT
-- covers: ClusterStmt
cluster orders using i
