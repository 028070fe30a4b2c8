-- expect: INVALID_INPUT
-- covers: grammar of Postgres 17
select * from json_table('[]', '$' columns (a int path '$'))
