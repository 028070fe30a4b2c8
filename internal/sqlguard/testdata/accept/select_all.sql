-- expect: ACCEPT
-- covers: SelectStmt ALL
select all id from customers
