-- expect: INVALID_INPUT
-- covers: an empty quoted name
select ""
