-- expect: ACCEPT
-- covers: relkind p
select id from fparts
