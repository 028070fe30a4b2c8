-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in LIMIT
select 1 limit (select count(*) from pg_authid)
