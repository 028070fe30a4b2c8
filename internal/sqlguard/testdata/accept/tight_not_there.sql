-- expect: ACCEPT
-- guard: tight
-- covers: a name that does not exist, asked for under allowlist.read
select to_regclass('nothing')
