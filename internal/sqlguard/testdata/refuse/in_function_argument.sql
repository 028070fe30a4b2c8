-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in an argument
select * from generate_series(1, (select count(*) from pg_authid))
