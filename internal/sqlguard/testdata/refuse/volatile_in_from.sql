-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in FROM
select * from app.boom()
