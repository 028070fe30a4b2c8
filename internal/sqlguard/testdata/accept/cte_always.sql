-- expect: ACCEPT
-- covers: CTEMaterializeAlways
with x as materialized (select 1 as a) select a from x
