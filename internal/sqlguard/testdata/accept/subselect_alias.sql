-- expect: ACCEPT
-- covers: RangeSubselect.alias with columns
select x.b from (select id, name from customers) as x(a, b)
