-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function of the database's own
select app.boom()
