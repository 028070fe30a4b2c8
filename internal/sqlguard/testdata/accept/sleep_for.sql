-- expect: ACCEPT
-- covers: pg_sleep_for, which the timeout bounds
select pg_sleep_for('1 second')
