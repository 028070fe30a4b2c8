-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in a recursive CTE
with recursive t(n) as (select 1 union select touch(n) from t) select * from t
