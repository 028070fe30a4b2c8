-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function of an extension
select odd_ext()
