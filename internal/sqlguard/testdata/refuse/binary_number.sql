-- expect: INVALID_INPUT
-- covers: a binary number that older servers read as a name
select 0b11
