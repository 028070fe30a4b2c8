-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in ARRAY(…)
select array(select rolname from pg_authid)
