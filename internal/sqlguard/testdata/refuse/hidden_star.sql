-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation behind *
select * from pg_authid *
