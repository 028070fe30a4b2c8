-- expect: ACCEPT
-- covers: SelectStmt.group_distinct
select count(*) from orders group by distinct rollup (status), rollup (status)
