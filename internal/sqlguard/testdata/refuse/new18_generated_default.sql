-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: generated columns without STORED
create table x (a int, b int generated always as (a * 2))
