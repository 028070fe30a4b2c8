-- expect: NOT_SELECT
-- covers: DoStmt
do $$ begin end $$
