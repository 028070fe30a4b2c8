-- expect: NOT_SELECT
-- covers: DropSubscriptionStmt
drop subscription s
