-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in DISTINCT ON
select distinct on ((select count(*) from pg_authid)) id from orders
