-- expect: ACCEPT
-- covers: WindowDef.start_offset of RANGE with an interval
select count(*) over (order by placed_at range between '1 day'::interval preceding and current row) from orders
