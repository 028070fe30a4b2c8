-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_authid
select rolpassword from pg_authid
