-- expect: INVALID_INPUT
-- covers: digits with an underscore
select 1_000 from orders
