-- expect: ACCEPT
-- covers: RangeFunction
select * from generate_series(1, 3) g
