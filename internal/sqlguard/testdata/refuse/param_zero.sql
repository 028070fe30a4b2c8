-- expect: INVALID_INPUT
-- covers: $0
select $0
