-- expect: ACCEPT
-- covers: A_Expr AEXPR_NOT_BETWEEN
select id not between 1 and 2 from customers
