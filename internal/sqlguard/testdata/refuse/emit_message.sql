-- expect: FUNCTION_NOT_ALLOWED
-- covers: writes a message into the log, outside the transaction
select pg_logical_emit_message(false, 'a', 'b')
