-- expect: ACCEPT
-- covers: WindowDef.name of OVER w
select lag(id) over w from orders window w as (partition by status order by id)
