-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation under the name of a harmless one
select * from pg_authid orders
