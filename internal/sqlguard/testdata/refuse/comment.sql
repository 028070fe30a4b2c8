-- expect: NOT_SELECT
-- covers: CommentStmt
comment on table orders is 'x'
