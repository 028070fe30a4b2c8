-- expect: INVALID_INPUT
-- covers: f(x) where f is neither a function nor a type
select no_such_type(1)
