-- expect: NOT_SELECT
-- covers: CreateUserMappingStmt
create user mapping for joe server s options (password 'x')
