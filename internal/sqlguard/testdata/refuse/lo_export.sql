-- expect: FUNCTION_NOT_ALLOWED
-- covers: a large object into a file
select lo_export(1, '/tmp/x')
