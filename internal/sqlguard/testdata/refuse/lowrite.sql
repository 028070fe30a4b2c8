-- expect: FUNCTION_NOT_ALLOWED
-- covers: writes a large object
select lowrite(1, 'x')
