-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in CASE
select case when true then (select 1 from pg_authid) end
