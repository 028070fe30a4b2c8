-- expect: FUNCTION_NOT_ALLOWED
-- covers: assigns a transaction number, under its newer name
select pg_current_xact_id()
