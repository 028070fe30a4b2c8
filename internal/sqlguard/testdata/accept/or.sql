-- expect: ACCEPT
-- covers: BoolExpr OR_EXPR
select id from customers where id > 1 or active
