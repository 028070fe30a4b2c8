-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_COMMIT_PREPARED
commit prepared 'a'
