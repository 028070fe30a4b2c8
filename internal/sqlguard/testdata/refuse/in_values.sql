-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in VALUES
values ((select count(*) from pg_authid))
