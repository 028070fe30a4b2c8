-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: NOT NULL as a named table constraint
alter table orders add constraint c not null amount
