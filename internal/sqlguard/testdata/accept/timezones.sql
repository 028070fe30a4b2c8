-- expect: ACCEPT
-- covers: pg_timezone_names
select name from pg_timezone_names
