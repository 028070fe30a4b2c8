-- expect: ACCEPT
-- covers: WindowDef
select id, rank() over (partition by status order by id rows between 1 preceding and current row) from orders
