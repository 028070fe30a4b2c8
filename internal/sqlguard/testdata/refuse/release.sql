-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_RELEASE
release savepoint a
