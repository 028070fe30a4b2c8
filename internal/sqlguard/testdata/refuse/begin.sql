-- expect: NOT_SELECT
-- covers: TransactionStmt
begin
