-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function below a view over a view
select * from over_boom
