-- expect: ACCEPT
-- covers: information_schema without a read allowlist
select table_name from information_schema.tables
