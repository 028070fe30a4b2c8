-- expect: ACCEPT
-- covers: FuncCall.agg_filter
select count(*) filter (where status = 'x') from orders
