-- expect: ACCEPT
-- server: 160004
-- covers: JsonObjectAgg, JsonAggConstructor
select json_objectagg(name: id absent on null with unique keys) from customers
