-- expect: ACCEPT
-- covers: GroupingSet GROUPING_SET_EMPTY
select count(*) from orders group by ()
