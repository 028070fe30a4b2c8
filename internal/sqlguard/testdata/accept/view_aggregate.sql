-- expect: ACCEPT
-- covers: a view with an aggregate
select id from order_totals
