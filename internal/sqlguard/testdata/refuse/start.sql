-- expect: NOT_SELECT
-- covers: TransactionStmt TRANS_STMT_START
start transaction read write
