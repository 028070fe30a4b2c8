-- expect: ACCEPT
-- covers: pg_namespace and pg_attribute joined
select n.nspname, a.attname from pg_namespace n, pg_attribute a
