-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_TABLE with NESTED PATH
select * from json_table('[]', '$' columns (nested path '$[*]' columns (a int)))
