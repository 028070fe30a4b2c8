-- expect: INVALID_INPUT
-- covers: a parameter without a value
select $1
