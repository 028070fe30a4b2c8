-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function by the schema it lies in
select public.round(1)
