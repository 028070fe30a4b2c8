-- expect: FUNCTION_NOT_ALLOWED
-- covers: SQL as text, stable, of an extension
select * from crosstab('select 1') as t(a int)
