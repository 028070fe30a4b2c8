-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in the ORDER BY of an aggregate
select string_agg(status, ',' order by (select count(*) from pg_authid)) from orders
