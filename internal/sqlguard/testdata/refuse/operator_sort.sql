-- expect: FUNCTION_NOT_ALLOWED
-- covers: SortBy.use_op
select id from customers order by id using ==
