-- expect: INVALID_INPUT
-- covers: a function that does not exist
select no_such_function(1)
