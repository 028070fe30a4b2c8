-- expect: NOT_SELECT
-- covers: CallStmt
call app.boom()
