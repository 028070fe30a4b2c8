-- expect: INVALID_INPUT
-- covers: a number that runs into a name
select 1a
