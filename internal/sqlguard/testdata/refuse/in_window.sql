-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a window
select sum(1) over (order by (select count(*) from pg_authid))
