-- expect: INVALID_INPUT
-- says: 17
-- covers: grammar of Postgres 18: FOREIGN KEY … PERIOD
create table x (id int, v tstzrange, foreign key (id, period v) references orders (id, period v))
