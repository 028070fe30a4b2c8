-- expect: ACCEPT
-- covers: pg_settings
select name, setting from pg_settings
