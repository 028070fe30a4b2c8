-- expect: ACCEPT
-- covers: BoolExpr NOT_EXPR
select id from customers where not active
