-- expect: INVALID_INPUT
-- covers: a zero width space
select 1​ from customers
