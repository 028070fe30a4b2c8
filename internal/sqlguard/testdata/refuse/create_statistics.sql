-- expect: NOT_SELECT
-- covers: CreateStatsStmt, StatsElem
create statistics s on id, status from orders
