-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in OFFSET
select 1 offset (select count(*) from pg_authid)
