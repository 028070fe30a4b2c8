-- expect: FUNCTION_NOT_ALLOWED
-- covers: FuncCall.func_variadic of a volatile function
select touch(variadic array[1])
