-- expect: NOT_SELECT
-- covers: CreateAmStmt
create access method m type index handler h
