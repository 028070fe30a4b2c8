-- expect: NOT_SELECT
-- covers: FetchStmt
fetch all from c
