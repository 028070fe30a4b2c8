-- expect: ACCEPT
-- covers: FuncCall.agg_star
select count(*) from orders
