-- expect: ACCEPT
-- covers: RangeFunction.is_rowsfrom
select * from rows from (generate_series(1, 3), unnest(array[1, 2])) with ordinality
