-- expect: ACCEPT
-- covers: RangeVar with a star behind it
select * from orders *
