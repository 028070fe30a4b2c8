-- expect: INVALID_INPUT
-- covers: a function name of four parts
select a.b.c.d()
