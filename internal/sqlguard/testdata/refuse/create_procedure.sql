-- expect: NOT_SELECT
-- covers: CreateFunctionStmt.is_procedure
create procedure p() language sql as 'select 1'
