-- expect: NOT_SELECT
-- covers: AlterUserMappingStmt
alter user mapping for joe server s options (set password 'x')
