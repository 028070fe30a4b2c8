-- expect: ACCEPT
-- covers: A_Expr AEXPR_SIMILAR
select name similar to '(a|b)%' from customers
