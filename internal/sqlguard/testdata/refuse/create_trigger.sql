-- expect: NOT_SELECT
-- covers: CreateTrigStmt, TriggerTransition
create trigger t after update on orders referencing old table as o for each statement execute function f()
