-- expect: ACCEPT
-- covers: ColumnRef without a table
select status as s, count(*) from orders group by s order by 2 desc nulls last
