-- expect: ACCEPT
-- covers: pg_typeof
select pg_typeof(id) from customers
