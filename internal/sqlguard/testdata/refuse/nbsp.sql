-- expect: INVALID_INPUT
-- covers: a no-break space
select 1 from customers
