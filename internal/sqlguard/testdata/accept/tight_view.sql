-- expect: ACCEPT
-- guard: tight
-- covers: a view inside allowlist.read by its own name
select id from salaries_view
