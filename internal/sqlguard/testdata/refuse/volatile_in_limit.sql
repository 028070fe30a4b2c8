-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in LIMIT
select 1 limit app.boom()
