-- expect: FUNCTION_NOT_ALLOWED
-- covers: a large object by descriptor
select loread(1, 10)
