-- expect: ACCEPT
-- covers: SelectStmt.having_clause
select status, count(*) from orders group by status having count(*) > 1
