-- expect: ACCEPT
-- covers: BoolExpr AND_EXPR
select id from customers where id > 1 and active
