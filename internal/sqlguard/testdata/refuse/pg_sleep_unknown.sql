-- expect: INVALID_INPUT
-- covers: a function that is neither allowed nor there
select pg_sleep_forever()
