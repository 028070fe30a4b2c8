-- expect: ACCEPT
-- guard: tight
-- covers: tableoid::regclass of tables under allowlist.read
select tableoid::regclass from orders
