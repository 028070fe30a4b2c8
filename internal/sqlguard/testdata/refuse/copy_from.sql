-- expect: NOT_SELECT
-- covers: CopyStmt.is_from, CopyStmt.where_clause
copy orders from stdin where id > 1
