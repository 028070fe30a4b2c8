-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: a table outside allowlist.read in a CTE
with x as (table app.t) select 1 from x
