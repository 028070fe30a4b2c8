-- expect: ACCEPT
-- covers: ONLY with brackets
select * from only (orders)
