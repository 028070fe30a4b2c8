-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: MERGE … RETURNING
merge into orders o using customers c on o.id = c.id when matched then delete returning merge_action(), o.*
