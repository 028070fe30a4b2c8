-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_prepared_statements
select * from pg_prepared_statements
