-- expect: ACCEPT
-- covers: RangeSubselect over VALUES
select * from (values (1, 'a')) as v(id, name)
