-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: WHEN NOT MATCHED BY SOURCE
merge into orders o using customers c on o.id = c.id when not matched by source then delete
