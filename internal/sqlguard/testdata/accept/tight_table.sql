-- expect: ACCEPT
-- guard: tight
-- covers: a table inside allowlist.read
select id from orders
