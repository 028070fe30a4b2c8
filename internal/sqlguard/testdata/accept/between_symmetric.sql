-- expect: ACCEPT
-- covers: A_Expr AEXPR_BETWEEN_SYM
select id between symmetric 2 and 1 from customers
