-- expect: ACCEPT
-- covers: A_Expr AEXPR_OP_ANY
select 'a' = any (tags) from customers
