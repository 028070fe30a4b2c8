-- expect: NOT_SELECT
-- covers: LoadStmt
load 'x'
