-- expect: FUNCTION_NOT_ALLOWED
-- covers: an overload that takes SQL
select ts_rewrite('a', 'select 1')
