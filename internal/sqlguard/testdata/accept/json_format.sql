-- expect: ACCEPT
-- server: 160004
-- covers: JsonValueExpr, JsonFormat
select json_array('{}' format json)
