-- expect: FUNCTION_NOT_ALLOWED
-- guard: tight
-- covers: a function of the database’s own under allowlist.read
select app.steady(1)
