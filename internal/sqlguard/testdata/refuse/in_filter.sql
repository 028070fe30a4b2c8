-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in FILTER
select count(*) filter (where exists (select 1 from pg_authid)) from orders
