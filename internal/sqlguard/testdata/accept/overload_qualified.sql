-- expect: ACCEPT
-- covers: a function of the system by its schema, where the path holds a volatile overload
select pg_catalog.round(1.5)
