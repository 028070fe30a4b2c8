-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_file_settings
select * from pg_file_settings
