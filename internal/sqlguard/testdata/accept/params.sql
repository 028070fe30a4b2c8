-- expect: ACCEPT
-- covers: ParamRef in several places
-- params: 2
select id from customers where id = $1 and name = $2 or id = $1
