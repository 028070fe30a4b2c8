-- expect: ACCEPT
-- covers: a quote inside a comment
select 1 /* it's */ from orders
