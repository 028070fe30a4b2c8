-- expect: ACCEPT
-- covers: relkind f
select * from ext
