-- expect: INVALID_INPUT
-- covers: a parameter number above the protocol's
select $70000
