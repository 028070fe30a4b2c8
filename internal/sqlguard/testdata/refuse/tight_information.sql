-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: information_schema.tables under allowlist.read
select * from information_schema.tables
