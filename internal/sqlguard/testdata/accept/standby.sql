-- expect: ACCEPT
-- covers: pg_is_in_recovery, which is volatile and harmless
select pg_is_in_recovery()
