-- expect: ACCEPT
-- covers: A_Expr with regular expressions
select name ~ '^a', name !~* 'b$' from customers
