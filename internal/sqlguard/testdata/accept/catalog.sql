-- expect: ACCEPT
-- covers: pg_catalog without a read allowlist
select relname from pg_class
