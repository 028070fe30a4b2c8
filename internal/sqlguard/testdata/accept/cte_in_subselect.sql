-- expect: ACCEPT
-- covers: scopes of inner selects see outer CTEs
with x as (select 1 as a) select (select a from x) from customers
