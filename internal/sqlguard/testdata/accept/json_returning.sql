-- expect: ACCEPT
-- server: 160004
-- covers: JsonOutput, JsonReturning
select json_object('a': 1 returning jsonb)
