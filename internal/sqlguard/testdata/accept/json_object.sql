-- expect: ACCEPT
-- covers: JsonObjectConstructor
select json_object('a': 1, 'b': 2)
