-- expect: ACCEPT
-- covers: pg_sleep, which the timeout bounds
select pg_sleep(0.1)
