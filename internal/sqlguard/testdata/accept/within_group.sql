-- expect: ACCEPT
-- covers: FuncCall.agg_within_group
select percentile_cont(0.5) within group (order by amount) from orders
