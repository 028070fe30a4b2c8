-- expect: ACCEPT
-- covers: pg_get_serial_sequence of a literal
select pg_get_serial_sequence('public.orders', 'id')
