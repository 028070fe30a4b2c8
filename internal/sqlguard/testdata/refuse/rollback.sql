-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_ROLLBACK
rollback
