-- expect: INVALID_INPUT
-- covers: a quoted name without an end
select "abc
