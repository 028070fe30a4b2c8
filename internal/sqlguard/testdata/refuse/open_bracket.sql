-- expect: INVALID_INPUT
-- covers: an open bracket
select (1
