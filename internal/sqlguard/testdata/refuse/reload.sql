-- expect: FUNCTION_NOT_ALLOWED
-- covers: reloads the configuration
select pg_reload_conf()
