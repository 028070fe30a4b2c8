-- expect: INVALID_INPUT
-- covers: LIMIT with a comma
select id from orders limit 1, 2
