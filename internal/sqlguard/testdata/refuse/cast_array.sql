-- expect: FUNCTION_NOT_ALLOWED
-- covers: TypeName.array_bounds
select '{x}'::weird[]
