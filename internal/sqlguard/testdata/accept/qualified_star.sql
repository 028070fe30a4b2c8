-- expect: ACCEPT
-- covers: ColumnRef with A_Star of a table
select customers.*, o.* from customers, orders o
