-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON_EXISTS with PASSING
select json_exists('[]', '$[*] ? (@ > $x)' passing 1 as x)
