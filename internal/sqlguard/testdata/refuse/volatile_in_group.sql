-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in GROUPING SETS
select count(*) from orders group by grouping sets ((touch(id)), ())
