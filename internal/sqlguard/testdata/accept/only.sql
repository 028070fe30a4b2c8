-- expect: ACCEPT
-- covers: ONLY
select * from only orders
