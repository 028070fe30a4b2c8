-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_statistic
select * from pg_statistic
