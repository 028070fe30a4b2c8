-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_cursors
select * from pg_cursors
