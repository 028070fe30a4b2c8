-- expect: NOT_SELECT
-- covers: VacuumRelation
analyze orders (id)
