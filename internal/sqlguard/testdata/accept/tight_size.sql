-- expect: ACCEPT
-- guard: tight
-- covers: the size of a readable table under allowlist.read
select pg_table_size('public.orders')
