-- expect: ACCEPT
-- covers: WindowDef.frame_options of GROUPS … EXCLUDE TIES
select sum(id) over (order by id groups between 1 preceding and unbounded following exclude ties) from orders
