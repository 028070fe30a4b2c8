-- expect: ACCEPT
-- covers: pg_database_size
select pg_size_pretty(pg_database_size('x'))
