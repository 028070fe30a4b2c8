-- expect: NOT_SELECT
-- covers: CopyStmt.query
copy (select 1) to '/tmp/x'
