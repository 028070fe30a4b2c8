-- expect: NOT_SELECT
-- covers: ClosePortalStmt
close c
