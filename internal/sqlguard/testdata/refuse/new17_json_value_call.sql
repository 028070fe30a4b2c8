-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_VALUE that is read as a call
select json_value('1', '$')
