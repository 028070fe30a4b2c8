-- expect: ACCEPT
-- covers: GroupingSet GROUPING_SET_ROLLUP
select status, count(*) from orders group by rollup (status, customer_id)
