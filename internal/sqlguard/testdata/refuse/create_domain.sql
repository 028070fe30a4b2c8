-- expect: NOT_SELECT
-- covers: CreateDomainStmt, Constraint
create domain d as int check (value > 0)
