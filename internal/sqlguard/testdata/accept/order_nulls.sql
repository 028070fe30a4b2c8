-- expect: ACCEPT
-- covers: SortBy SORTBY_NULLS_FIRST
select id from customers order by email asc nulls first, id
