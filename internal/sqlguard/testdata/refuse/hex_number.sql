-- expect: INVALID_INPUT
-- covers: a number that the server reads as a name
select 0xFF
