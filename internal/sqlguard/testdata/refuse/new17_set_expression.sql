-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: ALTER COLUMN … SET EXPRESSION
alter table orders alter column amount set expression as (id * 2)
