-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation below ALL
select 1 where 1 > all (select 1 from pg_authid)
