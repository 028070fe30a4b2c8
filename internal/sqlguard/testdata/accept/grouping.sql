-- expect: ACCEPT
-- covers: GroupingFunc
select grouping(status), count(*) from orders group by rollup (status)
