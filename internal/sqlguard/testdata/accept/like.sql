-- expect: ACCEPT
-- covers: A_Expr AEXPR_LIKE
select name like 'a%' from customers
