-- expect: ACCEPT
-- covers: CTECycleClause
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) cycle n set c to true default false using p select n from t
