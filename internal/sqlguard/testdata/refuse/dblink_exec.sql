-- expect: FUNCTION_NOT_ALLOWED
-- covers: another database, for writing
select dblink_exec('x', 'drop table orders')
