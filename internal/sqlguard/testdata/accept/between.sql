-- expect: ACCEPT
-- covers: A_Expr AEXPR_BETWEEN
select id between 1 and 2 from customers
