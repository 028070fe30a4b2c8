-- expect: NOT_SELECT
-- covers: CreateFunctionStmt, FunctionParameter
create function f(a int) returns int language sql as 'select 1'
