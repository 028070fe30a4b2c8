-- expect: FUNCTION_NOT_ALLOWED
-- covers: leaves a snapshot behind
select pg_export_snapshot()
