-- expect: ACCEPT
-- covers: TypeName.typmods of INTERVAL
select interval '1' day, interval(3) '1 second', '1'::interval day to second
