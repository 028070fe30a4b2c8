-- expect: ACCEPT
-- covers: A_Expr AEXPR_OP_ALL
select id > all (array[1, 2]) from customers
