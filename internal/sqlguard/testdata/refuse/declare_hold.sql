-- expect: NOT_SELECT
-- covers: DeclareCursorStmt WITH HOLD
declare c cursor with hold for select 1
