-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in ROWS FROM
select * from rows from (generate_series(1, (select count(*) from pg_authid)))
