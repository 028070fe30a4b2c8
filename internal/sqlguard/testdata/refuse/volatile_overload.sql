-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile overload on the path
select round(1.5)
