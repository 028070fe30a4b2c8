-- expect: INVALID_INPUT
-- covers: a literal without an end
select 'abc
