-- expect: NOT_SELECT
-- covers: SetToDefault
insert into orders (id) values (default)
