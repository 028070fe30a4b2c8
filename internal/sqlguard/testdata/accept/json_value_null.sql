-- expect: ACCEPT
-- server: 160004
-- covers: JsonKeyValue, JsonObjectConstructor.absent_on_null
select json_object('a' value null absent on null)
