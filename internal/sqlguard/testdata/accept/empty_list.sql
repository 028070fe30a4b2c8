-- expect: ACCEPT
-- covers: SelectStmt without target_list
select from customers
