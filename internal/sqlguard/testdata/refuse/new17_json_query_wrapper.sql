-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_QUERY WITH WRAPPER
select json_query('[]', '$' with wrapper)
