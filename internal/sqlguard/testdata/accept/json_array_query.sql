-- expect: ACCEPT
-- server: 160004
-- covers: JsonArrayQueryConstructor
select json_array(select id from orders)
