-- expect: ACCEPT
-- covers: GroupingSet
select status, count(*) from orders group by grouping sets ((status), ())
