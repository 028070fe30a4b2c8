-- expect: ACCEPT
-- covers: SubLink ARRAY_SUBLINK
select array(select id from orders)
