-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in ROWS FROM
select * from rows from (app.boom(), generate_series(1, 2))
