-- expect: ACCEPT
-- covers: LIMIT_OPTION_COUNT
select id from customers limit 10 offset 20
