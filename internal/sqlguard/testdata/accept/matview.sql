-- expect: ACCEPT
-- covers: relkind m
select * from mat
