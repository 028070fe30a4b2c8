-- expect: FUNCTION_NOT_ALLOWED
-- covers: a table's name as text, of an extension
select * from connectby('t', 'a', 'b', '1', 0) as t(a int)
