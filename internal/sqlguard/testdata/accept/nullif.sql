-- expect: ACCEPT
-- covers: A_Expr AEXPR_NULLIF
select nullif(status, 'x') from customers
