-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in HAVING
select status from orders group by status having count(*) > (select count(*) from pg_authid)
