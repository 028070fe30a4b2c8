-- expect: FUNCTION_NOT_ALLOWED
-- covers: another database
select * from dblink('x', 'select 1') as t(a int)
