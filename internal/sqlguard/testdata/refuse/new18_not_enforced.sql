-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: NOT ENFORCED
alter table orders add constraint c check (id > 0) not enforced
