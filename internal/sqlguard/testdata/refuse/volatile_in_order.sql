-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in ORDER BY
select id from orders order by touch(id)
