-- expect: ACCEPT
-- covers: NullTest IS_NOT_NULL
select id from customers where email is not null
