-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in ORDER BY
select 1 from orders order by (select count(*) from pg_authid)
