-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in the WINDOW clause
select sum(id) over w from orders window w as (order by (select count(*) from pg_authid))
