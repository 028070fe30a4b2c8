-- expect: ACCEPT
-- covers: RangeFunction.lateral
select c.id, u.t from customers c cross join lateral unnest(c.tags) as u(t)
