-- expect: NOT_SELECT
-- covers: CreateForeignServerStmt
create server s foreign data wrapper w options (host 'x')
