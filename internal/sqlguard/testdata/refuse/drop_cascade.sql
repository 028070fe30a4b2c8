-- expect: NOT_SELECT
-- covers: DropStmt DROP_CASCADE
drop schema public cascade
