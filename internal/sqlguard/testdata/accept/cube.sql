-- expect: ACCEPT
-- covers: GroupingSet GROUPING_SET_CUBE
select status, count(*) from orders group by cube (status, customer_id)
