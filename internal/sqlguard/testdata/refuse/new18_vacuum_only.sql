-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: VACUUM ONLY
vacuum only orders
