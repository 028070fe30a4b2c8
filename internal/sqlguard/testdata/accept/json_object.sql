-- expect: ACCEPT
-- server: 160004
-- covers: JsonObjectConstructor
select json_object('a': 1, 'b': 2)
