-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in WITHIN GROUP
select percentile_cont(0.5) within group (order by (select count(*) from pg_authid)) from orders
