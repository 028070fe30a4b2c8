-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_subscription
select subconninfo from pg_subscription
