-- expect: NOT_SELECT
-- covers: RETURNING old and new of Postgres 18, which are read as column names
with u as (update orders set id = 1 returning old.id, new.id) select * from u
