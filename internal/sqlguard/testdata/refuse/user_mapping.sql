-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_user_mapping
select * from pg_user_mapping
