-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 17: CREATE TABLE … PARTITION BY … after USING with SPLIT
alter table orders split partition a into (partition b for values in (1))
