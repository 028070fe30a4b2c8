-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in XMLFOREST
select xmlforest(app.boom() as a)
