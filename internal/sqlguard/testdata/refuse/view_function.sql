-- expect: FUNCTION_NOT_ALLOWED
-- covers: a volatile function in a view's body
select * from boom_view
