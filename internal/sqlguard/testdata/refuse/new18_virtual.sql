-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: virtual generated columns
create table x (a int, b int generated always as (a * 2) virtual)
