-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_stat_activity holds statements
select query from pg_stat_activity
