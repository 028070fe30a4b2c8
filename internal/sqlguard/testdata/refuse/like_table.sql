-- expect: NOT_SELECT
-- covers: TableLikeClause
create table x (like orders including all)
