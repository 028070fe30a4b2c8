-- expect: FUNCTION_NOT_ALLOWED
-- server: 160004
-- covers: a volatile function in JSON_ARRAYAGG
select json_arrayagg(app.boom())
