-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_ROLLBACK_PREPARED
rollback prepared 'a'
