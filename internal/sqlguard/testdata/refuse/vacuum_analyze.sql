-- expect: NOT_SELECT
-- covers: VacuumStmt.options
vacuum (full, analyze) orders
