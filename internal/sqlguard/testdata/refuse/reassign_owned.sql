-- expect: NOT_SELECT
-- covers: ReassignOwnedStmt
reassign owned by joe to jane
