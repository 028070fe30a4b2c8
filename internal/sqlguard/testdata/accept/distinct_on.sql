-- expect: ACCEPT
-- covers: SelectStmt.distinct_clause
select distinct on (status) status, id from orders order by status, id
