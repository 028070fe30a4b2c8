-- expect: ACCEPT
-- server: 160004
-- covers: JsonArrayAgg
select json_arrayagg(id order by id null on null) from customers
