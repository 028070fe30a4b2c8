-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in VALUES
values (1), (app.boom())
