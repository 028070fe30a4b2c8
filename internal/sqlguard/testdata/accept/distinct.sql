-- expect: ACCEPT
-- covers: SelectStmt DISTINCT
select distinct status from orders
