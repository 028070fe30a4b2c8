-- expect: ACCEPT
-- covers: SortBy.use_op
select id from customers order by id using >
