-- expect: INVALID_INPUT
-- covers: back quotes
select `id` from orders
