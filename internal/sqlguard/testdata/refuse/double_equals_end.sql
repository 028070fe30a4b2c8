-- expect: INVALID_INPUT
-- covers: an operator without an operand
select 1 +
