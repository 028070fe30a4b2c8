-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a CTE name that ends before the real name
select * from (with pg_authid as (select 1) select * from pg_authid) x, pg_authid
