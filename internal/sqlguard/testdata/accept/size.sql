-- expect: ACCEPT
-- covers: a relation by literal name
select pg_total_relation_size('public.orders')
