-- expect: ACCEPT
-- covers: RangeFunction.coldeflist
select * from jsonb_array_elements('[]') as x(a)
