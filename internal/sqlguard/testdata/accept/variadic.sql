-- expect: ACCEPT
-- covers: FuncCall.func_variadic
select concat_ws(',', variadic array['a', 'b'])
