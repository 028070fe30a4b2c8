-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in a CTE
with x as (select app.boom() as a) select a from x
