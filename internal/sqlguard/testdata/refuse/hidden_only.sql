-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation behind ONLY
select * from only (pg_authid)
