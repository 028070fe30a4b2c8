-- expect: TABLE_NOT_ALLOWLISTED
-- covers: a hidden relation in a CTE nobody reads
with x as (table pg_authid) select 1
