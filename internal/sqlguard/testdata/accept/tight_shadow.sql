-- expect: ACCEPT
-- guard: tight
-- covers: a CTE of a hidden table’s name under allowlist.read
with salaries as (select 1 as a) select a from salaries
