-- expect: NOT_SELECT
-- covers: CopyStmt with a program
copy orders to program 'sh'
