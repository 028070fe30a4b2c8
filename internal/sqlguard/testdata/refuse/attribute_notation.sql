-- expect: FUNCTION_NOT_ALLOWED
-- covers: x.f that is a volatile function
select c.touch from customers c
