-- expect: ACCEPT
-- covers: FuncCall.agg_order
select string_agg(name, ', ' order by name) from customers
