-- expect: ACCEPT
-- covers: CTESearchClause
with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) search depth first by n set o select n from t
