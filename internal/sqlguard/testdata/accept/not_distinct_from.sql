-- expect: ACCEPT
-- covers: A_Expr AEXPR_NOT_DISTINCT
select email is not distinct from name from customers
