-- expect: NOT_SELECT
-- covers: VacuumStmt
vacuum
