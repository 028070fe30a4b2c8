-- expect: NOT_SELECT
-- covers: TransactionStmt SAVEPOINT
savepoint a
