-- expect: FUNCTION_NOT_ALLOWED
-- covers: the function behind a hidden view
select * from pg_hba_file_rules()
