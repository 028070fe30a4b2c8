-- expect: NOT_SELECT
-- covers: ConstraintsSetStmt
set constraints all deferred
