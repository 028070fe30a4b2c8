-- expect: ACCEPT
-- covers: FuncCall.agg_distinct
select count(distinct status) from orders
