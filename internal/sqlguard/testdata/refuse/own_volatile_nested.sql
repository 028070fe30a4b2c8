-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function deep in an expression
select case when 1 = (select count(*) from orders where touch(id) is null) then 1 end
