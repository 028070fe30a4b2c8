-- expect: INVALID_INPUT
-- covers: $2 without $1
-- params: 2
select $2
