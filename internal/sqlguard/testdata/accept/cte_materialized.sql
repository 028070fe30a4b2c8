-- expect: ACCEPT
-- covers: CommonTableExpr.ctematerialized
with x as not materialized (select 1 as a) select a from x
