-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a toast table
select * from pg_toast.pg_toast_16385
