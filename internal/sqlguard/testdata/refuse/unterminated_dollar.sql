-- expect: INVALID_INPUT
-- covers: a dollar quote without an end
select $a$ x $b$
