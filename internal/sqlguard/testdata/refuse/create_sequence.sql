-- expect: NOT_SELECT
-- covers: CreateSeqStmt
create sequence s
