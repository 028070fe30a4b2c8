-- expect: INVALID_INPUT
-- covers: a type name of three parts
select 'x'::a.b.c
