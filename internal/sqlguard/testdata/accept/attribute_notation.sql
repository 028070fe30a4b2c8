-- expect: ACCEPT
-- covers: x.f that is a stable function
select c.title_of from customers c
