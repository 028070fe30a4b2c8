-- expect: ACCEPT
-- covers: FuncCall.over
select row_number() over () from orders
