-- expect: NOT_SELECT
-- covers: TransactionStmt PREPARE
prepare transaction 'a'
