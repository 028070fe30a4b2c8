-- expect: FUNCTION_NOT_ALLOWED
-- covers: a qualified name
select pg_catalog.pg_reload_conf()
