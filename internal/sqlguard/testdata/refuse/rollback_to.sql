-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_ROLLBACK_TO
rollback to savepoint a
