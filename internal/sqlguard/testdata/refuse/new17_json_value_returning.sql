-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_VALUE with RETURNING
select json_value('1', '$' returning int)
