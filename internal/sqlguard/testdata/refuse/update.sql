-- expect: NOT_SELECT
-- covers: UpdateStmt
update orders set id = 1
