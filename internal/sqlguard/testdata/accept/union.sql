-- expect: ACCEPT
-- covers: SelectStmt.op
(select id from customers) union all (select id from orders) order by 1 limit 5
