-- expect: INVALID_INPUT
-- covers: a parameter with a sign inside
select $-1
