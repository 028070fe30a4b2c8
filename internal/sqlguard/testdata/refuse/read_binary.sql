-- expect: FUNCTION_NOT_ALLOWED
-- covers: a file as bytes
select pg_read_binary_file('/etc/passwd')
