-- expect: ACCEPT
-- covers: ColumnRef of three parts
select public.customers.id from public.customers
