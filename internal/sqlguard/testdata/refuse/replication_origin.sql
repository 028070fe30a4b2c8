-- expect: FUNCTION_NOT_ALLOWED
-- covers: makes a replication origin
select pg_replication_origin_create('x')
