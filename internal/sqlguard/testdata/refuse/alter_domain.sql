-- expect: NOT_SELECT
-- covers: AlterDomainStmt
alter domain d set not null
