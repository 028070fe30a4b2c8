-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in GROUP BY
select count(*) from orders group by (select count(*) from pg_authid)
