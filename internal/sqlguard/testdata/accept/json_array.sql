-- expect: ACCEPT
-- server: 160004
-- covers: JsonArrayConstructor
select json_array(1, 2)
