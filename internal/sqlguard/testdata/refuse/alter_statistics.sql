-- expect: NOT_SELECT
-- covers: AlterStatsStmt
alter statistics s set statistics 100
