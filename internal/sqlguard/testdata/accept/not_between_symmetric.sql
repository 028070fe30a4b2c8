-- expect: ACCEPT
-- covers: A_Expr AEXPR_NOT_BETWEEN_SYM
select id not between symmetric 2 and 1 from customers
