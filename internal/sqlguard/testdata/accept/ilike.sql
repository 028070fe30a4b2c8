-- expect: ACCEPT
-- covers: A_Expr AEXPR_ILIKE
select name not ilike '%a' from customers
