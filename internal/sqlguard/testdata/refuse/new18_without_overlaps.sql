-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: WITHOUT OVERLAPS
create table x (id int, v tstzrange, primary key (id, v without overlaps))
