-- expect: ACCEPT
-- params: 1
-- covers: ParamRef below ANY
select id from customers where id = any ($1::bigint[])
