-- expect: ACCEPT
-- covers: SubLink EXISTS
select exists (select 1 from orders)
