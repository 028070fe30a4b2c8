-- expect: ACCEPT
-- covers: RangeFunction.ordinality
select * from unnest(array['a', 'b']) with ordinality as u(x, n)
