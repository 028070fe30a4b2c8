-- expect: ACCEPT
-- covers: CTEs that see each other in WITH RECURSIVE
with recursive a as (select 1 as n), b as (select n from a) select n from b
