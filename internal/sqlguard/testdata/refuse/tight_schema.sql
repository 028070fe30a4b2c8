-- expect: TABLE_NOT_ALLOWLISTED
-- guard: tight
-- covers: a table outside allowlist.read
select * from secret.salaries
