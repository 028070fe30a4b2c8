-- expect: FUNCTION_NOT_ALLOWED
-- covers: NamedArgExpr of a volatile function
select touch(a => 1)
