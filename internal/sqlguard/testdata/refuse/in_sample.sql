-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation below TABLESAMPLE
select * from pg_authid tablesample system (1)
