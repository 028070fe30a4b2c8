-- expect: FUNCTION_NOT_ALLOWED
-- covers: a directory
select pg_ls_dir('.')
