-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_hba_file_rules
select * from pg_hba_file_rules
