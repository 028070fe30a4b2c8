-- expect: NOT_SELECT
-- covers: IntoClause in the first arm of a set operation
select 1 into x union select 2
