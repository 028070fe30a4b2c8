-- expect: ACCEPT
-- covers: pg_partition_tree of a literal name
select * from pg_partition_tree('fparts')
