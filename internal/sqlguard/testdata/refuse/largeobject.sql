-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_largeobject
select * from pg_largeobject
