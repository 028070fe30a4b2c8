-- expect: ACCEPT
-- covers: TypeName with its schema
select 1::pg_catalog.int8
