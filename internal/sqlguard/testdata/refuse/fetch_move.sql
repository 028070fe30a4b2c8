-- expect: NOT_SELECT
-- covers: FetchStmt.ismove
move all from c
