-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_foreign_server holds options
select srvoptions from pg_foreign_server
