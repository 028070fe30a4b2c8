-- expect: ACCEPT
-- guard: tight
-- covers: the name of a readable table as a literal under allowlist.read
select 'orders'::regclass
