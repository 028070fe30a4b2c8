-- expect: NOT_SELECT
-- covers: AlterSubscriptionStmt
alter subscription s disable
