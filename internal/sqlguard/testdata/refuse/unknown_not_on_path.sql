-- expect: INVALID_TABLE_NAME
-- covers: a table outside the search path
select * from t
