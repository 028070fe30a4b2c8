-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_authid with its schema, quoted
select * from pg_catalog."pg_authid"
