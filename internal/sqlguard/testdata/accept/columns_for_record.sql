-- expect: ACCEPT
-- covers: RangeFunction.alias with column names
select * from jsonb_array_elements('[]') as x(a)
