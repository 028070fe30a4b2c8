-- expect: NOT_SELECT
-- covers: OnConflictClause, InferClause
insert into orders (id) values (1) on conflict (id) do update set id = 2
