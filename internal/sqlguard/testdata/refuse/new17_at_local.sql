-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: AT LOCAL
select created_at at local from customers
