-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a sub-select
select (select count(*) from pg_authid)
