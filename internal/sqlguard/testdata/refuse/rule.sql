-- expect: NOT_SELECT
-- covers: RuleStmt
create rule r as on insert to orders do instead nothing
