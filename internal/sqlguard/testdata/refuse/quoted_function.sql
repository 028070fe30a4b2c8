-- expect: FUNCTION_NOT_ALLOWED
-- covers: a quoted name
select "pg_catalog"."pg_reload_conf"()
