-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: MERGE … RETURNING inside WITH
with m as (merge into orders o using customers c on o.id = c.id when matched then delete returning o.*) select * from m
