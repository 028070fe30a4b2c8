-- expect: FUNCTION_NOT_ALLOWED
-- covers: a name in U& form
select U&"pg_reload\005fconf"()
