-- expect: NOT_SELECT
-- covers: CreateSubscriptionStmt
create subscription s connection 'host=x' publication p
