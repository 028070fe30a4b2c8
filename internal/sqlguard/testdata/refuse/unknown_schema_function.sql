-- expect: INVALID_INPUT
-- covers: a function in a schema that has none of that name
select app.lower('x')
