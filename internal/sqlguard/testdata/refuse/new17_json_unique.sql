-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: JSON() WITH UNIQUE KEYS
select json('{}' with unique keys)
