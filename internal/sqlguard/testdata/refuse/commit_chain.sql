-- expect: NOT_SELECT
-- covers: TransactionStmt.chain
commit and chain
