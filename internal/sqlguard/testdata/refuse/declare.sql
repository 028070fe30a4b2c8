-- expect: NOT_SELECT
-- covers: DeclareCursorStmt
declare c cursor for select 1
