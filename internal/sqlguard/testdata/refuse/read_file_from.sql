-- expect: FUNCTION_NOT_ALLOWED
-- covers: a file, in FROM
select * from pg_read_file('/etc/passwd')
