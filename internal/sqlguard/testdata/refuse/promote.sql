-- expect: FUNCTION_NOT_ALLOWED
-- covers: promotes a standby
select pg_promote()
