-- expect: FUNCTION_NOT_ALLOWED
-- covers: assigns a transaction number, stable
select txid_current()
