-- expect: ACCEPT
-- covers: regclass of a literal
select 'public.orders'::regclass
