-- expect: NOT_SELECT
-- covers: OnConflictClause ONCONFLICT_NOTHING
insert into orders values (1) on conflict do nothing
