-- expect: NOT_SELECT
-- covers: TruncateStmt.restart_seqs
truncate orders restart identity cascade
