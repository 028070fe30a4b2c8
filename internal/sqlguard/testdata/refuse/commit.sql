-- expect: NOT_SELECT
-- covers: TransactionStmt COMMIT
commit
