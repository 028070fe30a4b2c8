-- expect: FUNCTION_NOT_ALLOWED
-- covers: a file
select pg_read_file('/etc/passwd')
