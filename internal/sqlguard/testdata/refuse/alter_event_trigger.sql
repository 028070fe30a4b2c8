-- expect: NOT_SELECT
-- covers: AlterEventTrigStmt
alter event trigger e disable
