-- expect: INVALID_INPUT
-- covers: SQL/JSON on a server that reads it otherwise
select json_array(1)
