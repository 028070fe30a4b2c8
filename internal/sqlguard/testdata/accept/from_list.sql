-- expect: ACCEPT
-- covers: SelectStmt.from_clause of several
select 1 from orders, customers, order_items
