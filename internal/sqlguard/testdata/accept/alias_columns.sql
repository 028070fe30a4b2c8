-- expect: ACCEPT
-- covers: Alias.colnames
select a, b from order_items as i(a, b)
