-- expect: ACCEPT
-- covers: a CTE of the name of a table, which that select reads
with orders as (select id from orders) select id from orders
