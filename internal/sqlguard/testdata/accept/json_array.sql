-- expect: ACCEPT
-- covers: JsonArrayConstructor
select json_array(1, 2)
