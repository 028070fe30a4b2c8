-- expect: FUNCTION_NOT_ALLOWED
-- covers: SQL as text in FROM
select * from ts_stat('select 1')
