-- expect: ACCEPT
-- covers: NullTest IS_NULL
select id from customers where email is null
