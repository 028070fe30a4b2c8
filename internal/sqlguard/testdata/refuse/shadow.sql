-- expect: TABLE_NOT_ALLOWLISTED
-- covers: pg_shadow
table pg_shadow
