-- expect: ACCEPT
-- covers: RangeVar.inh = false
select * from only orders
