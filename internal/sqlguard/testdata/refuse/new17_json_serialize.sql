-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_SERIALIZE with RETURNING
select json_serialize('{}' returning bytea)
