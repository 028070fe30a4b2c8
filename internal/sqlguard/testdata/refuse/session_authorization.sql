-- expect: NOT_SELECT
-- covers: VariableSetStmt over session_authorization
set session authorization default
