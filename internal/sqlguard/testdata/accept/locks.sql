-- expect: ACCEPT
-- covers: pg_locks
select count(*) from pg_locks
