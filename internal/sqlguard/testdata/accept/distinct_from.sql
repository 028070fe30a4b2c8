-- expect: ACCEPT
-- covers: A_Expr AEXPR_DISTINCT
select email is distinct from name from customers
