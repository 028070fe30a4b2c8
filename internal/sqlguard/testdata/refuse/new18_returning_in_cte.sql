-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: RETURNING WITH (NEW AS …) inside WITH
with u as (update orders set id = 1 returning with (new as n) n.id) select * from u
