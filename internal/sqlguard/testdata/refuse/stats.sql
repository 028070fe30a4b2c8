-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_stats holds values
select most_common_vals from pg_stats
