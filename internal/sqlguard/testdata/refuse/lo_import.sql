-- expect: FUNCTION_NOT_ALLOWED
-- covers: a large object from a file
select lo_import('/etc/passwd')
