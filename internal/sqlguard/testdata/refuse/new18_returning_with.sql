-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: RETURNING WITH (OLD AS …)
update orders set id = 1 returning with (old as o) o.id
