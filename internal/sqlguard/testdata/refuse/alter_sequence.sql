-- expect: NOT_SELECT
-- covers: AlterSeqStmt
alter sequence ids restart
