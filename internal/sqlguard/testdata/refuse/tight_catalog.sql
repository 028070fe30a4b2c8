-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: pg_class under allowlist.read
select relname from pg_class
