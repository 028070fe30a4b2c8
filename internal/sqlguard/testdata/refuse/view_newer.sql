-- expect: FUNCTION_NOT_ALLOWED
-- covers: a view in a newer grammar
select * from newer_view
