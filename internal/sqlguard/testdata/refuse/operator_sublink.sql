-- expect: FUNCTION_NOT_ALLOWED
-- covers: SubLink.oper_name
select 1 == any (select 1)
